# Says where `cmake --install build/release` puts things; `cmake --build build/release --target package` makes a .deb.
# The program finds the model relative to itself (app/model/model_file.h), so that the tree can be moved.
include(GNUInstallDirs)
set(ASSETS ${PROJECT_SOURCE_DIR}/assets)

install(TARGETS bitnet-chat)
install(FILES ${ASSETS}/bitnet-chat.gguf ${ASSETS}/stages.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/bitnet-chat)
install(DIRECTORY ${ASSETS}/languages ${ASSETS}/personas ${ASSETS}/prompts DESTINATION ${CMAKE_INSTALL_DATADIR}/bitnet-chat)
install(FILES ${ASSETS}/copyright ${PROJECT_SOURCE_DIR}/LICENSE ${ASSETS}/MODEL_CARD.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${ASSETS}/default.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES ${ASSETS}/completions/bitnet-chat.bash RENAME bitnet-chat
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(folder site-functions vendor-completions)  # zsh looks into these in /usr/local and in Debian's /usr
  install(FILES ${ASSETS}/completions/bitnet-chat.zsh RENAME _bitnet-chat
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
endforeach()
install(FILES ${ASSETS}/completions/bitnet-chat.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/bitnet-chat.1.gz DEPENDS ${ASSETS}/bitnet-chat.1
  COMMAND gzip -9nc ${ASSETS}/bitnet-chat.1 > ${CMAKE_BINARY_DIR}/bitnet-chat.1.gz)
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/bitnet-chat.1.gz)
add_dependencies(bitnet-chat manual)
install(FILES ${CMAKE_BINARY_DIR}/bitnet-chat.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bitnet-chat)
set(CPACK_PACKAGE_CONTACT "The bitnet-chat authors <bitnet-chat@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "chat in the terminal with ternary language models")
set(CPACK_PACKAGE_DESCRIPTION "An ncurses chat with an inference engine of its own for ternary
language models (weights -1, 0, +1), on any Vulkan GPU or on the CPU. Every conversation
is kept in SQLite. A small model comes with it.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, mesa-vulkan-drivers")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "wl-clipboard | xclip")
include(CPack)
